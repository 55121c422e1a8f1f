//go:build cdk

package stack

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscertificatemanager"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudfront"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudfrontorigins"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsroute53"
	"github.com/aws/aws-cdk-go/awscdk/v2/awswafv2"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"holdfast/infra/front"
	"holdfast/infra/settings"
)

const (
	// silenceSeconds is how long CloudFront waits for the next packet. The
	// gateway's heartbeats keep well below it.
	silenceSeconds = 120
	// perAddress is how many requests one address may send in five minutes.
	perAddress = 3000
	// cloudFrontZone is the hosted zone of every distribution.
	cloudFrontZone = "Z2FDTNDATAQYW2"
)

// addEdgeParts adds, in us-east-1, the stack with what CloudFront takes from
// there. Its outputs are the main stack's settings certificate and webacl.
func addEdgeParts(app awscdk.App, s settings.Settings) {
	stack := awscdk.NewStack(app, jsii.String(s.Name()+"-Edge"), &awscdk.StackProps{
		Description: jsii.String("Holdfast: the certificate and the web ACL for CloudFront"),
		Env:         environment(settings.EdgeRegion),
	})
	output(stack, "CertificateArn", *addCertificate(stack, *s.Edge), "Deploy the main stack with -c certificate=…")
	output(stack, "WebACLArn", *addWebACL(stack, s.Name()), "Deploy the main stack with -c webacl=…")
}

// addEdge puts CloudFront, with a web ACL and the operator's domain, in front
// of the function URL. Nothing is cached and nothing is compressed: every answer
// is a stream for one client.
func addEdge(stack awscdk.Stack, s settings.Settings, gateway function, kept secrets) {
	certificate, acl := jsii.String(s.Edge.Certificate), jsii.String(s.Edge.WebACL)
	if s.Edge.Certificate == "" {
		certificate = addCertificate(stack, *s.Edge)
	}
	if s.Edge.WebACL == "" {
		acl = addWebACL(stack, s.Name())
	}
	distribution := awscloudfront.NewDistribution(stack, jsii.String("Distribution"), &awscloudfront.DistributionProps{
		Comment: jsii.String(s.Name()),
		DefaultBehavior: &awscloudfront.BehaviorOptions{
			Origin:               origin(gateway, kept),
			AllowedMethods:       awscloudfront.AllowedMethods_ALLOW_ALL(),
			CachePolicy:          awscloudfront.CachePolicy_CACHING_DISABLED(),
			OriginRequestPolicy:  awscloudfront.OriginRequestPolicy_ALL_VIEWER_EXCEPT_HOST_HEADER(),
			ViewerProtocolPolicy: awscloudfront.ViewerProtocolPolicy_HTTPS_ONLY,
			Compress:             jsii.Bool(false),
		},
		DomainNames:            jsii.Strings(s.Edge.Domain),
		Certificate:            awscertificatemanager.Certificate_FromCertificateArn(stack, jsii.String("EdgeCertificate"), certificate),
		MinimumProtocolVersion: awscloudfront.SecurityPolicyProtocol_TLS_V1_2_2021,
		HttpVersion:            awscloudfront.HttpVersion_HTTP2_AND_3,
		WebAclId:               acl,
	})
	suppress(distribution, "AwsSolutions-CFR1", "Callers prove themselves by a key; where they are is no ground to refuse them.")
	suppress(distribution, "AwsSolutions-CFR3", "Every request that passes the web ACL is one line in the gateway's log; the web ACL counts and samples the rest.")
	for _, kind := range []string{"A", "AAAA"} {
		awsroute53.NewCfnRecordSet(stack, jsii.String("Record"+kind), &awsroute53.CfnRecordSetProps{
			Name: jsii.String(s.Edge.Domain), Type: jsii.String(kind), HostedZoneId: jsii.String(s.Edge.Zone),
			AliasTarget: &awsroute53.CfnRecordSet_AliasTargetProperty{
				DnsName: distribution.DistributionDomainName(), HostedZoneId: jsii.String(cloudFrontZone),
			},
		})
	}
	output(stack, "DomainURL", "https://"+s.Edge.Domain+"/", "Base URL of Anthropic clients; those of OpenAI add /v1")
}

// origin is the function URL, with the header that proves CloudFront. The
// template names the secret; CloudFormation reads it while deploying.
func origin(gateway function, kept secrets) awscloudfront.IOrigin {
	return awscloudfrontorigins.NewFunctionUrlOrigin(gateway.url, &awscloudfrontorigins.FunctionUrlOriginProps{
		ReadTimeout:      awscdk.Duration_Seconds(jsii.Number(silenceSeconds)),
		KeepaliveTimeout: awscdk.Duration_Seconds(jsii.Number(60)),
		CustomHeaders:    &map[string]*string{front.OriginHeader: kept.origin.SecretValue().UnsafeUnwrap()},
	})
}

// addCertificate proves the domain by a record in its zone.
func addCertificate(scope constructs.Construct, e settings.Edge) *string {
	return awscertificatemanager.NewCfnCertificate(scope, jsii.String("Certificate"), &awscertificatemanager.CfnCertificateProps{
		DomainName: jsii.String(e.Domain), ValidationMethod: jsii.String("DNS"),
		DomainValidationOptions: []any{&awscertificatemanager.CfnCertificate_DomainValidationOptionProperty{
			DomainName: jsii.String(e.Domain), HostedZoneId: jsii.String(e.Zone),
		}},
	}).Ref()
}

// addWebACL refuses floods and known bad addresses. It never looks into bodies:
// prompts are full of code, markup and attack strings, and rules for web forms
// would refuse them.
func addWebACL(scope constructs.Construct, name string) *string {
	flood := &awswafv2.CfnWebACL_StatementProperty{RateBasedStatement: &awswafv2.CfnWebACL_RateBasedStatementProperty{
		AggregateKeyType: jsii.String("IP"), Limit: jsii.Number(perAddress),
	}}
	reputation := &awswafv2.CfnWebACL_StatementProperty{ManagedRuleGroupStatement: &awswafv2.CfnWebACL_ManagedRuleGroupStatementProperty{
		VendorName: jsii.String("AWS"), Name: jsii.String("AWSManagedRulesAmazonIpReputationList"),
	}}
	acl := awswafv2.NewCfnWebACL(scope, jsii.String("WebACL"), &awswafv2.CfnWebACLProps{
		Scope:            jsii.String("CLOUDFRONT"),
		DefaultAction:    &awswafv2.CfnWebACL_DefaultActionProperty{Allow: &awswafv2.CfnWebACL_AllowActionProperty{}},
		VisibilityConfig: visible(name),
		Rules: []any{
			&awswafv2.CfnWebACL_RuleProperty{
				Name: jsii.String("flood"), Priority: jsii.Number(0), Statement: flood, VisibilityConfig: visible(name + "-flood"),
				Action: &awswafv2.CfnWebACL_RuleActionProperty{Block: &awswafv2.CfnWebACL_BlockActionProperty{}},
			},
			&awswafv2.CfnWebACL_RuleProperty{
				Name: jsii.String("reputation"), Priority: jsii.Number(1), Statement: reputation, VisibilityConfig: visible(name + "-reputation"),
				OverrideAction: &awswafv2.CfnWebACL_OverrideActionProperty{None: map[string]any{}},
			},
		},
	})
	return acl.AttrArn()
}

func visible(name string) *awswafv2.CfnWebACL_VisibilityConfigProperty {
	return &awswafv2.CfnWebACL_VisibilityConfigProperty{
		CloudWatchMetricsEnabled: jsii.Bool(true), SampledRequestsEnabled: jsii.Bool(true), MetricName: jsii.String(name),
	}
}
