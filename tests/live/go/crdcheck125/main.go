// Command crdcheck125 asks the API server of Kubernetes 1.25, the oldest that is supported, what
// it makes of a v1 CustomResourceDefinition: unknown fields, CEL rules and their worst-case cost.
// The validation is that server's own, linked in.
//
// It reads one JSON document {"crd": {...}, "updates": {"name": [old, new]}} from standard input and
// writes {"crd": [errors], "updates": {"name": [errors]}}. An update is judged by the rules alone, so
// that it can be one that no server would let so far.
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
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

type question struct {
	CRD     json.RawMessage               `json:"crd"`
	Updates map[string][2]json.RawMessage `json:"updates"`
}

type answer struct {
	CRD     []string            `json:"crd"`
	Updates map[string][]string `json:"updates"`
}

func main() {
	said, err := check(os.Stdin)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(said)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "crdcheck125:", err)
		os.Exit(2)
	}
}

func check(input io.Reader) (answer, error) {
	said := answer{CRD: []string{}, Updates: map[string][]string{}}
	var asked question
	if err := json.NewDecoder(input).Decode(&asked); err != nil {
		return said, err
	}
	var read v1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(asked.CRD, &read); err != nil {
		said.CRD = append(said.CRD, err.Error())
		return said, nil
	}
	scheme := runtime.NewScheme()
	install.Install(scheme)
	scheme.Default(&read)
	crd := &apiextensions.CustomResourceDefinition{}
	if err := scheme.Convert(&read, crd, nil); err != nil {
		return said, err
	}
	// What a controller of the server would write; validation asks for it.
	crd.Status.StoredVersions = []string{read.Spec.Versions[0].Name}
	for _, problem := range validation.ValidateCustomResourceDefinition(context.Background(), crd) {
		said.CRD = append(said.CRD, problem.Error())
	}
	if len(asked.Updates) == 0 {
		return said, nil
	}
	// The conversion moves the schema of an only version to the top.
	structural, err := schema.NewStructural(crd.Spec.Validation.OpenAPIV3Schema)
	if err != nil {
		return said, err
	}
	rules := cel.NewValidator(structural, true, cel.PerCallLimit)
	for name, update := range asked.Updates {
		var old, updated map[string]interface{}
		if err := utiljson.Unmarshal(update[0], &old); err != nil {
			return said, err
		}
		if err := utiljson.Unmarshal(update[1], &updated); err != nil {
			return said, err
		}
		said.Updates[name] = []string{}
		problems, _ := rules.Validate(
			context.Background(), nil, structural, updated, old, cel.RuntimeCELCostBudget,
		)
		for _, problem := range problems {
			said.Updates[name] = append(said.Updates[name], problem.Error())
		}
	}
	return said, nil
}
