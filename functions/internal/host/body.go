package host

import (
	"context"
	"io"
)

// body is an invocation's answer as the Lambda runtime reads it. The runtime
// closes it when the client's stream has ended, and asks for the next
// invocation when Close has returned.
type body struct {
	*io.PipeReader
	handled chan struct{} // closed when the handler has returned
	cancel  context.CancelFunc
	after   *backlog
	guard   func(work func())
}

// Close ends the invocation. A handler that still runs, since nobody could take
// its answer, is told to stop and waited for.
func (b *body) Close() error {
	b.cancel()
	_ = b.PipeReader.Close() // never fails; writes end with an error from here on
	<-b.handled
	b.after.workOff(b.guard)
	return nil
}
