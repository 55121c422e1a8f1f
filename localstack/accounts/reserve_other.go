//go:build !linux

package accounts

// reserve does nothing here: systems differ in who may bind an address twice.
func reserve(string) (release func(), err error) { return func() {}, nil }
