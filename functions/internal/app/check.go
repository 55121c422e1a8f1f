package app

import (
	"fmt"

	"holdfast/routing/catalog"
)

// Check returns what is wrong with a document beyond its own text: what it
// needs of this process's environment, and what is accepted without effect.
func Check(doc *catalog.Document, environ []string) []catalog.Problem {
	s := secrets{lookup: lookup(environ), local: newLocalSecrets(doc), vault: unasked{}}
	_, problems := Compile(doc, "", environ, s)
	problems = append(problems, missing(doc, s)...)
	return append(problems, idle(doc)...)
}

// CheckAround returns what is wrong with the environment round a document that is
// itself wrong, so that all of it is told at once: Check says more of one that is
// right.
func CheckAround(doc *catalog.Document, environ []string) []catalog.Problem {
	s := secrets{lookup: lookup(environ), local: newLocalSecrets(doc), vault: unasked{}}
	_, found := catalog.Overlay(doc, environ)
	for i, k := range doc.Keys {
		ref, err := catalog.ParseReference(k.Key)
		if err != nil || ref.Scheme != catalog.SchemeEnv {
			continue
		}
		if _, err := ref.FromEnv(s.lookup); err != nil {
			found = append(found, catalog.Problem{Path: fmt.Sprintf("keys[%d].key", i), Message: "no key: " + err.Error()})
		}
	}
	return append(found, missing(doc, s)...)
}

// missing warns about provider keys that the environment does not hold: their
// connections are never used. It is no error, since a document may be checked
// where its secrets are not.
func missing(doc *catalog.Document, s secrets) []catalog.Problem {
	var found []catalog.Problem
	warn := func(path, reference string) {
		ref, err := catalog.ParseReference(reference)
		if err != nil || ref.Scheme != catalog.SchemeEnv {
			return
		}
		if _, err := ref.FromEnv(s.lookup); err != nil {
			found = append(found, catalog.Problem{Path: path, Message: err.Error() + " here; the connection cannot be used without it", Warning: true})
		}
	}
	for i, c := range doc.Connections {
		warn(fmt.Sprintf("connections[%d].auth.key", i), c.Auth.Key)
		for j, key := range c.Auth.Keys {
			warn(fmt.Sprintf("connections[%d].auth.keys[%d]", i, j), key)
		}
	}
	return found
}

// idle warns about what the document may say and nothing acts on.
func idle(doc *catalog.Document) []catalog.Problem {
	var found []catalog.Problem
	warn := func(l catalog.Limits, path string, i int) {
		if l.Concurrency > 0 {
			found = append(found, catalog.Problem{Path: fmt.Sprintf(path, i), Message: "has no effect: only deployments bound how much runs at once", Warning: true})
		}
	}
	for i, k := range doc.Keys {
		warn(k.Limits, "keys[%d].limits.concurrency", i)
	}
	for i, t := range doc.Teams {
		warn(t.Limits, "teams[%d].limits.concurrency", i)
	}
	for i, o := range doc.Organizations {
		warn(o.Limits, "organizations[%d].limits.concurrency", i)
	}
	return found
}
