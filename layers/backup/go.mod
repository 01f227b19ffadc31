module github.com/strictkv/strictkv/layers/backup

go 1.26.0

require (
	filippo.io/age v1.3.2
	github.com/klauspost/compress v1.20.3
	github.com/stretchr/testify v1.12.1
	github.com/strictkv/strictkv v0.0.0
	golang.org/x/sync v0.24.0
)

require (
	filippo.io/hpke v0.4.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/crypto v0.58.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/strictkv/strictkv => ../../
