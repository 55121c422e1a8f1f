package dynalite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// startTimeout bounds one start of the server; a busy machine needs seconds.
const startTimeout = 30 * time.Second

// stopTimeout is how long the server may take to end by itself.
const stopTimeout = 5 * time.Second

// process is one run of node. Its standard input stays open for as long as
// this process lives; the tether loaded into it ends it when that closes.
type process struct {
	cmd    *exec.Cmd
	input  io.Closer
	output *tail
	ended  chan struct{} // closed once the process was waited for
	once   sync.Once
}

func launch(ctx context.Context, node, home, port string) (*process, error) {
	cmd := exec.Command(node, "--require", filepath.Join(home, "tether.cjs"),
		filepath.Join(home, "node_modules", "dynalite", "cli.js"),
		"--host", "127.0.0.1", "--port", port,
		"--createTableMs", "0", "--deleteTableMs", "0", "--updateTableMs", "0")
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, input: input, output: newTail("listening at"), ended: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = p.output, p.output
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = cmd.Wait() // how it ended is of no interest, that it ended is
		close(p.ended)
	}()
	if err := p.awaitStart(ctx); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return p, nil
}

// awaitStart waits for the line that the server prints once it listens. Only
// this very process can print it, so a foreign server on the port is not
// mistaken for ours.
func (p *process) awaitStart(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	select {
	case <-p.output.seen:
		return nil
	case <-p.ended:
		return fmt.Errorf("ended early: %s", p.output)
	case <-ctx.Done():
		return fmt.Errorf("%w: %s", ctx.Err(), p.output)
	}
}

func (p *process) stop() error {
	p.once.Do(func() { _ = p.input.Close() }) // the tether then ends it
	select {
	case <-p.ended:
		return nil
	case <-time.After(stopTimeout):
	}
	err := p.cmd.Process.Kill()
	<-p.ended
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// tail keeps the last output of a process and tells when a word was seen.
type tail struct {
	mu   sync.Mutex
	word []byte
	kept []byte
	seen chan struct{}
	done bool
}

const tailBytes = 8 << 10

func newTail(word string) *tail {
	return &tail{word: []byte(word), seen: make(chan struct{})}
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if !t.done && bytes.Contains(t.kept, t.word) {
		t.done = true
		close(t.seen)
	}
	if over := len(t.kept) - tailBytes; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(p), nil
}

// String returns what was kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.kept))
}
