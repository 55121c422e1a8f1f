//go:build cdk

// Package stack is the CloudFormation stack of Holdfast: four tables, the
// gateway's function behind its URL, the console's where it is built, secrets,
// alarms, a dashboard and, with a domain, CloudFront and a web ACL in front.
//
// Invariants: no permission is granted by a helper, every statement names its
// actions and tables one by one; no secret stands in a template, only where one
// is kept; what table names, headers and metrics must be alike with the code is
// taken from the packages beside this one.
//
// A template depends on Settings and on the assets' bytes alone.
package stack

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
	"github.com/cdklabs/cdk-nag-go/cdknag/v2"

	"holdfast/infra/settings"
)

// Build adds the stacks to app: the main one and, with a domain in another
// region than us-east-1, the one whose certificate and web ACL it will need.
// While those are not given the main stack stays without CloudFront.
func Build(app awscdk.App, s settings.Settings) {
	if s.Split() {
		addEdgeParts(app, s)
		s.Edge = nil
	}
	addMain(app, s)
	awscdk.Aspects_Of(app).Add(cdknag.NewAwsSolutionsChecks(nil), nil)
}

// addMain adds the stack that serves.
func addMain(app awscdk.App, s settings.Settings) {
	stack := awscdk.NewStack(app, jsii.String(s.Name()), &awscdk.StackProps{
		Description: jsii.String("Holdfast: an LLM gateway that keeps conversations on the deployment whose prompt cache is warm"),
		Env:         environment(s.Region),
	})
	awscdk.Tags_Of(stack).Add(jsii.String("application"), jsii.String(s.Stem()), nil)
	tables := addTables(stack, s.Prefix)
	secrets := addSecrets(stack, s)
	gateway := addGateway(stack, s, tables, secrets)
	if s.Edge != nil {
		addEdge(stack, s, gateway, secrets)
	}
	if s.Console != "" {
		addConsole(stack, s, tables, secrets, gateway)
	}
	metrics := newMetrics(s.Name(), gateway, tables)
	addMetricFilters(stack, s.Name(), gateway)
	alarms := addAlarms(stack, s, metrics)
	addDashboard(stack, s, metrics, alarms)
}

// environment fixes the region where it is known; the account is the one that
// deploys.
func environment(region string) *awscdk.Environment {
	if region == "" {
		return nil
	}
	return &awscdk.Environment{Region: jsii.String(region)}
}

// output tells the operator a value, under a name of its own.
func output(scope constructs.Construct, name, value, description string) {
	awscdk.NewCfnOutput(scope, jsii.String(name), &awscdk.CfnOutputProps{
		Value: jsii.String(value), Description: jsii.String(description),
	})
}

// suppress silences one rule of cdk-nag for a construct and what is in it, with
// the reason that an auditor reads; for the given findings alone where there are
// some, as regular expressions.
func suppress(construct constructs.IConstruct, rule, reason string, findings ...string) {
	one := &cdknag.NagPackSuppression{Id: jsii.String(rule), Reason: jsii.String(reason)}
	if len(findings) > 0 {
		applies := make([]any, len(findings))
		for i, finding := range findings {
			applies[i] = &cdknag.RegexAppliesTo{Regex: jsii.String(finding)}
		}
		one.AppliesTo = &applies
	}
	cdknag.NagSuppressions_AddResourceSuppressions(construct, &[]*cdknag.NagPackSuppression{one}, jsii.Bool(true))
}
