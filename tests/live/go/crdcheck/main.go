// Command crdcheck asks the API server of Kubernetes 1.15 what it makes of a v1beta1
// CustomResourceDefinition: the validation is that server's own, linked in.
//
// It reads one JSON document {"crd": {...}, "objects": {"name": {...}}} from standard input and
// writes {"crd": [errors], "objects": {"name": [errors]}}. An object is pruned before it is
// validated, as the server does; what pruning takes away is named as an error too, for a field
// that goes unnoticed is what the schema is there to prevent.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

type question struct {
	CRD     json.RawMessage            `json:"crd"`
	Objects map[string]json.RawMessage `json:"objects"`
}

type answer struct {
	CRD     []string            `json:"crd"`
	Objects map[string][]string `json:"objects"`
}

func main() {
	var asked question
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		fail(err)
	}
	said, err := check(asked)
	if err != nil {
		fail(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(said); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "crdcheck:", err)
	os.Exit(2)
}

func check(asked question) (answer, error) {
	said := answer{CRD: []string{}, Objects: map[string][]string{}}
	crd, err := decode(asked.CRD)
	if err != nil {
		said.CRD = append(said.CRD, err.Error())
		return said, nil
	}
	for _, problem := range crdvalidation.ValidateCustomResourceDefinition(crd) {
		said.CRD = append(said.CRD, problem.Error())
	}
	structural, err := schema.NewStructural(crd.Spec.Validation.OpenAPIV3Schema)
	if err != nil {
		said.CRD = append(said.CRD, err.Error())
		return said, nil
	}
	for _, problem := range schema.ValidateStructural(structural, nil) {
		said.CRD = append(said.CRD, problem.Error())
	}
	for name, raw := range asked.Objects {
		problems, err := checkObject(raw, crd, structural)
		if err != nil {
			return said, err
		}
		said.Objects[name] = problems
	}
	return said, nil
}

// decode reads the CRD strictly, fills in the server's defaults and converts it.
func decode(raw []byte) (*apiextensions.CustomResourceDefinition, error) {
	var read v1beta1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(raw, &read); err != nil {
		return nil, err
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
	return crd, nil
}

func checkObject(
	raw []byte, crd *apiextensions.CustomResourceDefinition, structural *schema.Structural,
) ([]string, error) {
	var object, whole map[string]interface{}
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, &whole); err != nil {
		return nil, err
	}
	validator, _, err := validation.NewSchemaValidator(crd.Spec.Validation)
	if err != nil {
		return nil, err
	}
	problems := []string{}
	pruning.Prune(object, structural, true)
	for _, path := range lost("", whole, object) {
		problems = append(problems, path+": unknown field")
	}
	if err := validation.ValidateCustomResource(object, validator); err != nil {
		problems = append(problems, err.Error())
	}
	return problems, nil
}

// lost names the fields that the second value lacks.
func lost(path string, before, after interface{}) []string {
	if reflect.DeepEqual(before, after) {
		return nil
	}
	var found []string
	switch old := before.(type) {
	case map[string]interface{}:
		kept, _ := after.(map[string]interface{})
		for name, value := range old {
			if inner, ok := kept[name]; ok {
				found = append(found, lost(path+"."+name, value, inner)...)
			} else {
				found = append(found, path+"."+name)
			}
		}
	case []interface{}:
		kept, _ := after.([]interface{})
		for index, value := range old {
			found = append(found, lost(fmt.Sprintf("%s[%d]", path, index), value, kept[index])...)
		}
	}
	return found
}
