//go:build !race

package app

// raced: the race detector is in this binary, and allocates as well.
const raced = false
