// Command bare is the least that a Go function can be: the yardstick of
// start-up times.
package main

import (
	"context"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	lambda.Start(func(context.Context) (string, error) { return "bare", nil })
}
