package e2e

import (
	"testing"

	"holdfast/localstack/accounts"
)

// rigOf starts a gateway before accounts with a document of the test's own.
func rigOf(t *testing.T, fleet *accounts.Fleet, config, store string) *rig {
	t.Helper()
	r := &rig{t: t, fleet: fleet, config: config, store: store, data: t.TempDir(), env: []string{"UPSTREAM_KEY=" + upstreamKey}}
	r.Gateway = r.start()
	return r
}
