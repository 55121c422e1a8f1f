package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/go-json-experiment/json"
)

// Request is one line of a trace. At, Session, Input and Output are enough; the
// rest makes it exact.
type Request struct {
	At      float64 `json:"at"`               // seconds since the trace began; never less than the line before
	Session string  `json:"session"`          // which conversation
	Lane    string  `json:"lane,omitzero"`    // a sub-agent's own thread in it
	Model   string  `json:"model,omitzero"`   // caches are kept by model
	Input   int     `json:"input"`            // tokens of the whole prompt, cached or not
	Shared  int     `json:"shared,omitzero"`  // of them, at the beginning, those that all sessions of the model begin with
	Kept    int     `json:"kept,omitzero"`    // of them, at the beginning, those that the turn before had, its answer included; 0: all that it had
	Output  int     `json:"output"`           // tokens of the answer
	Seconds float64 `json:"seconds,omitzero"` // how long it was answered
}

// errTrace is a trace that cannot be played.
var errTrace = errors.New("not a trace")

// maxLine bounds a line of a trace, in bytes.
const maxLine = 64 << 10

// read gives the requests of a trace one by one. A line that is wrong ends it
// with its number.
func read(from io.Reader) iter.Seq2[Request, error] {
	return func(yield func(Request, error) bool) {
		lines := bufio.NewScanner(from)
		lines.Buffer(make([]byte, 0, 4096), maxLine)
		last := 0.0
		for n := 1; lines.Scan(); n++ {
			if len(lines.Bytes()) == 0 {
				continue
			}
			var r Request
			err := json.Unmarshal(lines.Bytes(), &r, json.RejectUnknownMembers(true))
			if err == nil {
				err = r.check(last)
			}
			if err != nil {
				yield(r, fmt.Errorf("%w: line %d: %w", errTrace, n, err))
				return
			}
			last = r.At
			if !yield(r, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(Request{}, fmt.Errorf("%w: %w", errTrace, err))
		}
	}
}

// maxTokens is more than any prompt has.
const maxTokens = 1 << 28

func (r Request) check(last float64) error {
	switch {
	case r.Session == "":
		return errors.New("session is missing")
	case len(r.Session) > 256 || len(r.Lane) > 256 || len(r.Model) > 256:
		return errors.New("names have at most 256 bytes")
	case !(r.At >= last):
		return errors.New("at is less than that of the line before")
	case r.Input < 0 || r.Input > maxTokens || r.Output < 0 || r.Output > maxTokens:
		return errors.New("input and output are numbers of tokens")
	case r.Shared < 0 || r.Shared > r.Input || r.Kept < 0 || r.Kept > r.Input:
		return errors.New("shared and kept are parts of input")
	case !(r.Seconds >= 0 && r.Seconds < 1e6):
		return errors.New("seconds is a duration")
	}
	return nil
}

func writeRequest(w io.Writer, r Request) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}
