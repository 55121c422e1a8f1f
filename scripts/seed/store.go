package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	records "holdfast/affinity/store"
	"holdfast/affinity/store/dynamo"
	"holdfast/affinity/store/dynamo/chain"
	"holdfast/affinity/store/revision"
)

// A first call finds credentials and shakes hands, which on an operator's
// machine takes longer than a gateway would wait.
const patience = 15 * time.Second

// store puts the document into the tables.
func store(ctx context.Context, o options, document []byte, out io.Writer) error {
	tables, err := open(ctx, o.prefix)
	if err != nil {
		return err
	}
	log := revision.Log{Store: tables}
	head, err := log.Head(ctx)
	if err != nil {
		return fmt.Errorf("%sconfig cannot be read: %w", o.prefix, err)
	}
	rules := revision.Name(head)
	if rules != "" && same(ctx, log, rules, document) {
		fmt.Fprintf(out, "revision %s already is this document\n", rules)
		return nil
	}
	if rules != o.replace {
		return mismatch(rules, o.replace)
	}
	head, err = log.Put(ctx, head, document, time.Now())
	switch {
	case errors.Is(err, records.ErrConflict):
		return fmt.Errorf("revision %s was stored meanwhile and rules; nothing has changed", revision.Name(head))
	case errors.Is(err, records.ErrUnknown):
		return fmt.Errorf("it cannot be told whether the document was stored; run this again: %w", err)
	case err != nil:
		return err
	}
	fmt.Fprintf(out, "revision %s rules\n", revision.Name(head))
	return nil
}

// open finds the tables with the operator's own credentials.
func open(ctx context.Context, prefix string) (*dynamo.Store, error) {
	settings, err := chain.Credit(ctx, dynamo.Config{Prefix: prefix, Timeout: patience, AttemptTimeout: patience / 2})
	if err != nil {
		return nil, err
	}
	return dynamo.New(settings)
}

// mismatch says what stands where something else was expected.
func mismatch(rules, expected string) error {
	switch {
	case rules == "":
		return fmt.Errorf("there is no revision %s to replace: none is stored", expected)
	case expected == "":
		return fmt.Errorf("revision %s rules; -replace %s puts the document in its place", rules, rules)
	}
	return fmt.Errorf("revision %s rules, not %s; nothing has changed", rules, expected)
}

// same reports whether the stored document of a revision is this one.
func same(ctx context.Context, log revision.Log, name string, document []byte) bool {
	stored, err := log.Document(ctx, name)
	return err == nil && bytes.Equal(stored, document)
}
