package catalog

import "fmt"

// Problem is one thing that is wrong with a document, or, as a Warning, one
// that is legal and probably not meant. The zero Path is the whole document.
// A message never repeats a secret or a whole value of unknown length.
type Problem struct {
	Path    string // e.g. deployments[2].connection
	Message string // what is wrong and what to do
	Warning bool
}

// String is the line that an operator reads.
func (p Problem) String() string {
	line := p.Message
	if p.Path != "" {
		line = p.Path + ": " + line
	}
	if p.Warning {
		return "warning: " + line
	}
	return line
}

// HasErrors reports whether any of the problems is more than a warning.
func HasErrors(problems []Problem) bool {
	for _, p := range problems {
		if !p.Warning {
			return true
		}
	}
	return false
}

// maxProblems bounds an answer; a document with more is wrong throughout.
const maxProblems = 1000

// problems collects what is wrong, in the order in which it was found.
type problems struct {
	list []Problem
}

// add notes one problem, or, once, that there are too many.
func (p *problems) add(path, message string, warning bool) {
	switch {
	case len(p.list) < maxProblems:
		p.list = append(p.list, Problem{Path: path, Message: message, Warning: warning})
	case len(p.list) == maxProblems:
		p.list = append(p.list, Problem{Message: "more problems follow; mend these first"})
	}
}

func (p *problems) errorf(path, format string, args ...any) {
	p.add(path, fmt.Sprintf(format, args...), false)
}

func (p *problems) warnf(path, format string, args ...any) {
	p.add(path, fmt.Sprintf(format, args...), true)
}
