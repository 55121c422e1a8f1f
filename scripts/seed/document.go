package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"holdfast/infra/admission"
	"holdfast/routing/catalog"
)

// errRefused is a document that may not be deployed; its problems say why.
var errRefused = errors.New("the document cannot be deployed")

// load reads the document as it will be stored, with everything that is wrong
// with it.
func load(o options, lookup func(string) (string, bool)) ([]byte, []catalog.Problem, error) {
	text, err := readBounded(o.file)
	if err != nil {
		return nil, nil, err
	}
	doc, problems := catalog.Load(text)
	if catalog.HasErrors(problems) {
		return nil, problems, errRefused
	}
	hashed, unset := admission.HashCallers(doc, lookup)
	problems = append(problems, unset...)
	problems = append(problems, admission.Check(hashed, o.stem())...)
	if catalog.HasErrors(problems) {
		return nil, problems, errRefused
	}
	stored, err := hashed.Public().JSON()
	return stored, problems, err
}

// readBounded reads a file of at most the size that a document may have.
func readBounded(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, catalog.MaxDocument+1))
	if err == nil && len(text) > catalog.MaxDocument {
		err = fmt.Errorf("%s is larger than %d bytes", name, catalog.MaxDocument)
	}
	return text, err
}
