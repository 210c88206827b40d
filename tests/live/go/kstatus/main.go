// Command kstatus says what kstatus makes of objects: the judgement is its own, linked in.
//
// It reads a JSON document {"name": object} from standard input and writes {"name": "Current"},
// or InProgress, Failed, Terminating and so on.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

func main() {
	if err := judge(); err != nil {
		fmt.Fprintln(os.Stderr, "kstatus:", err)
		os.Exit(2)
	}
}

func judge() error {
	var asked map[string]json.RawMessage
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		return err
	}
	said := map[string]string{}
	for name, raw := range asked {
		var object unstructured.Unstructured
		if err := object.UnmarshalJSON(raw); err != nil {
			return err
		}
		result, err := status.Compute(&object)
		if err != nil {
			return err
		}
		said[name] = result.Status.String()
	}
	return json.NewEncoder(os.Stdout).Encode(said)
}
