//go:build cdk

package stack_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"holdfast/infra/front"
	"holdfast/infra/settings"
)

// TestNoEdgeUnasked: without a domain nothing stands before the function URL.
func TestNoEdgeUnasked(t *testing.T) {
	m := main(t, plain(t))
	for _, r := range m.Resources {
		for _, kind := range []string{"CloudFront", "WAFv2", "Route53", "CertificateManager"} {
			if strings.Contains(r.Type, kind) {
				t.Errorf("there is a %s", r.Type)
			}
		}
	}
	m.one("AWS::Lambda::Function", "Gateway").is(t, nil, "Environment", "Variables", front.OriginVariable)
}

func TestEdge(t *testing.T) {
	m := main(t, everything(t))
	d := m.one("AWS::CloudFront::Distribution", "")
	origin := at(d.prop("DistributionConfig", "Origins"), 0)
	if at(origin, "CustomOriginConfig", "OriginReadTimeout") != 120.0 || at(origin, "CustomOriginConfig", "OriginProtocolPolicy") != "https-only" {
		t.Errorf("origin %s", flat(origin))
	}
	if at(origin, "OriginAccessControlId") != nil || len(m.all("AWS::CloudFront::OriginAccessControl")) > 0 {
		t.Error("origin access control needs a hash of the body that no SDK sends")
	}
	header := at(origin, "OriginCustomHeaders", 0)
	secret := m.one("AWS::SecretsManager::Secret", "OriginSecret").id
	value := flat(at(header, "HeaderValue"))
	if at(header, "HeaderName") != front.OriginHeader || !strings.Contains(value, "{{resolve:secretsmanager:") || !strings.Contains(value, secret) {
		t.Errorf("header %s", flat(header))
	}
	behavior := []any{"DistributionConfig", "DefaultCacheBehavior"}
	d.is(t, "https-only", append(behavior, "ViewerProtocolPolicy")...)
	d.is(t, false, append(behavior, "Compress")...)
	d.is(t, "4135ea2d-6df8-44a3-9df3-4b5a84be39ad", append(behavior, "CachePolicyId")...)         // CachingDisabled
	d.is(t, "b689b0a8-53d0-40ab-baf2-68738e2966ac", append(behavior, "OriginRequestPolicyId")...) // AllViewerExceptHostHeader
	if methods := list(d.prop(append(behavior, "AllowedMethods")...)); len(methods) != 7 {
		t.Errorf("methods %v, want all seven", methods)
	}
	d.is(t, []any{"llm.example.com"}, "DistributionConfig", "Aliases")
	d.is(t, "TLSv1.2_2021", "DistributionConfig", "ViewerCertificate", "MinimumProtocolVersion")
	d.is(t, m.one("AWS::CertificateManager::Certificate", "").id, "DistributionConfig", "ViewerCertificate", "AcmCertificateArn", "Ref")
	d.is(t, m.one("AWS::WAFv2::WebACL", "").id, "DistributionConfig", "WebACLId", "Fn::GetAtt", 0)
	kinds := ""
	for _, record := range m.all("AWS::Route53::RecordSet") {
		record.is(t, "llm.example.com", "Name")
		record.is(t, "Z0123456789ABC", "HostedZoneId")
		kinds += flat(record.prop("Type"))
	}
	if kinds != `"A""AAAA"` {
		t.Errorf("records %s", kinds)
	}
	reference := flat(m.one("AWS::Lambda::Function", "Gateway").prop("Environment", "Variables", front.OriginVariable))
	if !strings.Contains(reference, "secretsmanager:") || !strings.Contains(reference, secret) {
		t.Errorf("the gateway compares with %s", reference)
	}
}

// TestWebACL: floods and known bad addresses are refused, and no rule reads a
// body, since prompts look like attacks.
func TestWebACL(t *testing.T) {
	acl := main(t, everything(t)).one("AWS::WAFv2::WebACL", "")
	acl.is(t, "CLOUDFRONT", "Scope")
	acl.is(t, map[string]any{"Allow": map[string]any{}}, "DefaultAction")
	var kinds []string
	for _, rule := range list(acl.prop("Rules")) {
		statement, _ := at(rule, "Statement").(map[string]any)
		kind := slices.Collect(maps.Keys(statement))[0]
		if name, managed := at(statement, kind, "Name").(string); managed {
			kind = name
		}
		kinds = append(kinds, kind)
	}
	if want := []string{"RateBasedStatement", "AWSManagedRulesAmazonIpReputationList"}; !slices.Equal(kinds, want) {
		t.Errorf("rules %v, want %v", kinds, want)
	}
}

// TestEdgeElsewhere: in another region certificate and web ACL come first, in a
// stack in us-east-1, and are then given to the main one.
func TestEdgeElsewhere(t *testing.T) {
	s := everything(t)
	s.Region, s.Console = "eu-central-1", ""
	made := synthesize(t, s)
	edge, first := made["Holdfast-Edge"], made["Holdfast"]
	for _, name := range []string{"CertificateArn", "WebACLArn"} {
		if _, told := edge.Outputs[name]; !told {
			t.Errorf("the edge stack does not tell its %s", name)
		}
	}
	if len(first.all("AWS::CloudFront::Distribution")) > 0 || len(edge.all("AWS::CloudFront::Distribution")) > 0 {
		t.Error("there is a distribution before there is a certificate")
	}
	s.Edge = &settings.Edge{Domain: s.Edge.Domain, Zone: s.Edge.Zone, Certificate: "arn:aws:acm:us-east-1:123456789012:certificate/x", WebACL: "arn:aws:wafv2:us-east-1:123456789012:global/webacl/x/y"}
	made = synthesize(t, s)
	if _, there := made["Holdfast-Edge"]; there {
		t.Error("the edge stack is there although its parts were given")
	}
	d := made["Holdfast"].one("AWS::CloudFront::Distribution", "")
	d.is(t, s.Edge.Certificate, "DistributionConfig", "ViewerCertificate", "AcmCertificateArn")
	d.is(t, s.Edge.WebACL, "DistributionConfig", "WebACLId")
	if n := len(made["Holdfast"].all("AWS::WAFv2::WebACL")); n > 0 {
		t.Error("a web ACL outside us-east-1 cannot stand before CloudFront")
	}
}
