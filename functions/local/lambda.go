package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"holdfast/functions/internal/app"
	"holdfast/localstack/runtimeapi"
)

// errLambda refuses environments that would have nothing in common.
var errLambda = errors.New("-lambda N takes a positive number and needs -store dynamodb, which the environments share")

// startLambda runs the gateway's own bootstrap in several environments, as
// Lambda does, and returns the front before them. Stopping lets what they have
// left to do end first.
func startLambda(ctx context.Context, s settings, demo map[string]string, log *slog.Logger, output io.Writer) (http.Handler, func(), error) {
	file, err := bootstrap(ctx, s.environ)
	if err != nil {
		return nil, nil, err
	}
	variables, err := s.bootstrapVariables(demo)
	if err != nil {
		return nil, nil, err
	}
	functions, err := runtimeapi.Start(runtimeapi.Config{
		Bootstrap: file, Environments: s.lambda, Env: variables, Output: output, Log: log,
	})
	if err != nil {
		return nil, nil, err
	}
	left, cancel := outlasting(ctx, grace)
	return functions, func() {
		defer cancel()
		if err := functions.Close(left); err != nil {
			log.Warn("environments were ended with work left", "error", err)
		}
	}, nil
}

// outlasting returns a context that ends some time after ctx has.
func outlasting(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	left, cancel := context.WithCancel(context.WithoutCancel(ctx))
	unset := context.AfterFunc(ctx, func() { time.AfterFunc(by, cancel) })
	return left, func() { unset(); cancel() }
}

// besideOperator serves the admin API and the console here, as their own
// function does when they are deployed, and all else through the front.
func besideOperator(operator, front http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		if first == "admin" || first == "console" {
			operator.ServeHTTP(w, r)
			return
		}
		front.ServeHTTP(w, r)
	})
}

// bootstrapVariables are this process's own, with what its flags say. The file
// is told for the secrets that it may hold; the stored revision rules.
func (s settings) bootstrapVariables(demo map[string]string) ([]string, error) {
	file := s.file
	if file != "" {
		var err error
		if file, err = filepath.Abs(file); err != nil {
			return nil, err
		}
	}
	return append(slices.Clone(s.environ),
		"HOLDFAST_STORE=dynamodb", "HOLDFAST_CONFIG="+file, "HOLDFAST_DEMO_ACCOUNTS="+app.FormatAddresses(demo)), nil
}
