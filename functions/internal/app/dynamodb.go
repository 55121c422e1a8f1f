package app

import (
	"context"
	"errors"

	"holdfast/affinity/store"
	"holdfast/affinity/store/dynamo"
)

// OpenDynamoDB opens the tables that the environment names. Against an
// emulator on loopback it creates those that are missing; anywhere else they
// are made by the deployment.
func OpenDynamoDB(ctx context.Context, e Environment) (store.Store, func(), error) {
	client, err := dynamo.NewClient(dynamo.Config{Region: e.Region, Endpoint: e.DynamoDB})
	if err != nil {
		return nil, nil, err
	}
	if err := dynamo.CreateTables(ctx, client, e.TablePrefix); err != nil && !errors.Is(err, dynamo.ErrNotLoopback) {
		return nil, nil, err
	}
	records, err := dynamo.New(dynamo.Config{Client: client, Prefix: e.TablePrefix})
	if err != nil {
		return nil, nil, err
	}
	return records, func() {}, nil
}
