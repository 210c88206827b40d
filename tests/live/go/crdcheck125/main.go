// Command crdcheck125 asks the API server of Kubernetes 1.25, the oldest that is supported, what
// it makes of a v1 CustomResourceDefinition: unknown fields, CEL rules and their worst-case cost.
// The validation is that server's own, linked in.
//
// It reads the CRD as JSON from standard input and writes a JSON list of errors.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

func main() {
	problems, err := check(os.Stdin)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(problems)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "crdcheck125:", err)
		os.Exit(2)
	}
}

func check(input io.Reader) ([]string, error) {
	raw, err := io.ReadAll(input)
	if err != nil {
		return nil, err
	}
	var read v1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(raw, &read); err != nil {
		return []string{err.Error()}, nil
	}
	scheme := runtime.NewScheme()
	install.Install(scheme)
	scheme.Default(&read)
	crd := &apiextensions.CustomResourceDefinition{}
	if err := scheme.Convert(&read, crd, nil); err != nil {
		return nil, err
	}
	// What a controller of the server would write; validation asks for it.
	crd.Status.StoredVersions = []string{read.Spec.Versions[0].Name}
	problems := []string{}
	for _, problem := range validation.ValidateCustomResourceDefinition(context.Background(), crd) {
		problems = append(problems, problem.Error())
	}
	return problems, nil
}
