package dynamo_test

const racerVariable = "HOLDFAST_DYNAMO_RACER"

func racer() int { return 0 }
