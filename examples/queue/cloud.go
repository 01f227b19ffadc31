//go:build cloud

package main

import _ "github.com/strictkv/strictkv/examples/internal/store/clouds" // -bucket takes URLs
