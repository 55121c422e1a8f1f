// Package chain finds AWS credentials and the region as all AWS tools do: in the
// environment, in profiles, from a container or an instance.
//
// It stands apart from the driver, since merely holding this much of the SDK
// delays the start of a process: a function on Lambda, whose environment has
// the access key, does without it.
//
// Concurrency: Credit is safe for use by many goroutines. Errors: those of the
// SDK's configuration, which name files and profiles, never keys.
package chain

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/config"

	"holdfast/affinity/store/dynamo"
)

// Credit completes a driver's configuration with region and credentials. One for
// an endpoint on this machine stays as it is: no profile is asked for an
// emulator. Nothing is asked over the network before the first request.
func Credit(ctx context.Context, c dynamo.Config) (dynamo.Config, error) {
	if c.Local() {
		return c, nil
	}
	var load []func(*config.LoadOptions) error
	if c.Region != "" {
		load = append(load, config.WithRegion(c.Region))
	}
	loaded, err := config.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return c, fmt.Errorf("AWS configuration: %w", err)
	}
	c.Region, c.Credentials = loaded.Region, loaded.Credentials
	return c, nil
}
