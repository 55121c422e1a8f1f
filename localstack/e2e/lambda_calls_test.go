package e2e

import (
	"maps"
	"net/http"
	"testing"

	"holdfast/localstack/runtimeapi"
)

// TestP4Bootstrap counts what a hit asks of DynamoDB through a bootstrap, before
// and after its answer: one read of what decides and, afterwards, the renewal and
// the books. Each call takes the AWS SDK about 0.4 ms of processor time, more than
// all else in an exchange, so none may come on top unseen.
func TestP4Bootstrap(t *testing.T) {
	f := newFunction(t, runtimeapi.Config{Concurrency: 1}, true)
	settled := func() { // the environment takes the next request when all of the last one is done
		response, err := http.Get(f.url + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
	}
	for range 10 { // the preference, and the first look at what others have left in the ledger's slots
		f.turn("chat", "s", false)
	}
	// The exchange's read and the ledger's; a renewal, a slot, the event, the sums of
	// session, key, model, deployment and day, and the slot again.
	want := map[string]int{"BatchGetItem": 2, "PutItem": 9}
	var got map[string]int
	for range 3 { // once a minute some slots are looked at, too
		settled()
		f.front.ResetCounts()
		f.turn("chat", "s", false)
		settled()
		if got = f.front.Counts(); maps.Equal(got, want) {
			return
		}
	}
	t.Errorf("a hit makes %v calls, want %v", got, want)
}
