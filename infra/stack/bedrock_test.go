//go:build cdk

package stack_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/infra/settings"
)

// TestBedrock: the gateway's role may invoke models of exactly the services that
// the document signs calls to, and cdk-nag has nothing to say about it.
func TestBedrock(t *testing.T) {
	runtime, mantle := "bedrock:InvokeModel bedrock:InvokeModelWithResponseStream", "bedrock-mantle:CreateInference"
	rows := []struct {
		services, want []string
	}{
		{nil, nil},
		{[]string{settings.BedrockRuntime}, []string{runtime}},
		{[]string{settings.BedrockMantle}, []string{mantle}},
		{[]string{settings.BedrockMantle, settings.BedrockRuntime}, []string{mantle, runtime}},
	}
	for _, row := range rows {
		s := plain(t)
		s.Bedrock = row.services
		m := main(t, s)
		var got []string
		for _, one := range m.statements("GatewayRole") {
			if !strings.HasPrefix(one.actions[0], "bedrock") {
				continue
			}
			got = append(got, sorted(one.actions...))
			for _, r := range one.resources {
				if text := flat(r); !strings.Contains(text, ":bedrock") {
					t.Errorf("%v on %s", one.actions, text)
				}
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%v: %s", row.services, diff)
		}
		for _, said := range m.messages {
			t.Errorf("%v: %s", row.services, said)
		}
	}
}
