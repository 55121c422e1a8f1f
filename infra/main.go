//go:build cdk

// Command infra writes the CloudFormation templates and their assets to
// infra/cdk.out:
//
//	go run -tags cdk ./infra [-o DIR] [-c NAME=VALUE]...
//
// The names are those of package settings. Under the cdk command line it takes
// the same values from there. It contacts nobody, needs Node on the PATH, and
// exits 1 where a setting is wrong.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"holdfast/infra/admission"
	"holdfast/infra/settings"
	"holdfast/infra/stack"
	"holdfast/routing/catalog"
)

func main() {
	defer jsii.Close()
	if err := run(os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "infra:", err)
		jsii.Close()
		os.Exit(1)
	}
}

// run writes the templates that the arguments ask for.
func run(args []string, errs io.Writer) error {
	if err := toRoot(); err != nil {
		return err
	}
	values, err := given()
	if err != nil {
		return err
	}
	flags := flag.NewFlagSet("infra", flag.ContinueOnError)
	flags.SetOutput(errs)
	out := flags.String("o", orElse(os.Getenv("CDK_OUTDIR"), "infra/cdk.out"), "write to `DIR`")
	flags.Func("c", "`NAME=VALUE` of a setting; may be repeated", func(text string) error {
		name, value, found := strings.Cut(text, "=")
		if !found {
			return errors.New("takes NAME=VALUE")
		}
		values[name] = value
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	s, err := settings.Parse(values, region(), exists)
	if err != nil {
		return err
	}
	if _, chosen := values["bedrock"]; !chosen {
		if s.Bedrock, err = signed(); err != nil {
			return err
		}
	}
	app := awscdk.NewApp(&awscdk.AppProps{Outdir: out, AnalyticsReporting: jsii.Bool(false)})
	stack.Build(app, s)
	app.Synth(nil)
	return nil
}

// given are the settings of the environment: the prefix, as all commands read
// it, and what the cdk command line passes on.
func given() (map[string]string, error) {
	values := map[string]string{}
	if prefix := os.Getenv("HOLDFAST_TABLE_PREFIX"); prefix != "" {
		values["prefix"] = prefix
	}
	text := os.Getenv("CDK_CONTEXT_JSON")
	if text == "" {
		return values, nil
	}
	var all map[string]any
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil, errors.New("CDK_CONTEXT_JSON is not JSON")
	}
	for name, value := range all {
		values[name] = fmt.Sprint(value)
	}
	return values, nil
}

// signed lists the services of Bedrock that the document which is to be seeded
// signs calls to: HOLDFAST_CONFIG's, or holdfast.yaml's where that is there.
func signed() ([]string, error) {
	name := orElse(os.Getenv("HOLDFAST_CONFIG"), "holdfast.yaml")
	text, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) && os.Getenv("HOLDFAST_CONFIG") == "" {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the document: %w", err)
	}
	doc, problems := catalog.Load(text)
	if catalog.HasErrors(problems) {
		return nil, fmt.Errorf("the document %s is not valid; go run ./scripts/seed -check %s says why", name, name)
	}
	return admission.Bedrock(doc), nil
}

// region is where the stack will be, "" where that is not known yet.
func region() string {
	return orElse(os.Getenv("CDK_DEFAULT_REGION"), orElse(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION")))
}

func orElse(value, other string) string {
	if value != "" {
		return value
	}
	return other
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// toRoot makes the repository's root the working directory: assets are named
// from there.
func toRoot() error {
	for {
		if exists("go.mod") {
			return nil
		}
		here, err := os.Getwd()
		if err != nil {
			return err
		}
		if here == filepath.Dir(here) {
			return errors.New("the working directory is outside the repository")
		}
		if err := os.Chdir(".."); err != nil {
			return err
		}
	}
}
