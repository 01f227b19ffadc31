module github.com/strictkv/strictkv/layers/typed/cbor

go 1.26.0

require (
	github.com/fxamacker/cbor/v2 v2.9.6
	github.com/stretchr/testify v1.12.1
	github.com/strictkv/strictkv v0.0.0
)

require (
	github.com/x448/float16 v0.8.4 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sync v0.24.0 // indirect
)

replace github.com/strictkv/strictkv => ../../../
