// Package sdks proves that the official SDKs of both providers read what the
// accounts answer. It holds tests only, apart from the accounts' own because
// the SDKs take long to build.
package sdks_test

import (
	"testing"

	"holdfast/localstack/accounts"
)

// start runs one account.
func start(t testing.TB, c accounts.Config) (*accounts.Account, string) {
	t.Helper()
	c.Name = "alpha"
	fleet := accounts.StartConfigT(t, c)
	return fleet.Account("alpha"), fleet.URL("alpha")
}
