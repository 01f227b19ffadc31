package bucketurl

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAzureClient: the environment says which account the container is of.
func TestAzureClient(t *testing.T) {
	const key = "bm90IGEgc2VjcmV0"
	for _, x := range []struct {
		name, connection, key, sas string
		want                       string
	}{
		{"emulator", "AccountName=dev;AccountKey=" + key + ";BlobEndpoint=http://127.0.0.1:1/dev;",
			"", "", "http://127.0.0.1:1/dev/container"},
		{"connection string", "AccountName=other;AccountKey=" + key, key, "",
			"https://other.blob.core.windows.net/container"},
		{"key", "", key, "sig=x", "https://account.blob.core.windows.net/container"},
		{"SAS", "", "", "?sv=1&sig=x", "https://account.blob.core.windows.net/container?sv=1&sig=x"},
		{"default chain", "", "", "", "https://account.blob.core.windows.net/container"},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Setenv("AZURE_STORAGE_CONNECTION_STRING", x.connection)
			t.Setenv("AZURE_STORAGE_ACCOUNT", "account")
			t.Setenv("AZURE_STORAGE_KEY", x.key)
			t.Setenv("AZURE_STORAGE_SAS_TOKEN", x.sas)
			client, err := azureClient("container", nil)
			require.NoError(t, err)
			assert.Equal(t, x.want, client.URL())
		})
	}
}
