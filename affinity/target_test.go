package affinity

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestPreferenceForm: a preference that is written by hand is byte for byte what
// the encoder writes, whatever its parts hold.
func TestPreferenceForm(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "a", "\"", "\\", "\xff\xfe", "<&>", "\u2028", "\x00\x1f\x7f"}))
	rapid.Check(t, func(t *rapid.T) {
		target := Target{
			Deployment: text.Draw(t, "deployment"), Model: text.Draw(t, "model"), Pool: text.Draw(t, "pool"),
			Path: rapid.SliceOfN(text, 0, 3).Draw(t, "path"),
		}
		endpoint, chosen := text.Draw(t, "endpoint"), text.Draw(t, "switch")
		want := encode(preference{target.Deployment, target.Model, target.Pool, target.Path, endpoint, chosen})
		if diff := cmp.Diff(string(want), string(encodePreference(target, endpoint, chosen))); diff != "" {
			t.Fatal(diff)
		}
	})
}
