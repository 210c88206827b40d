"""Names that secrets have, and names that only look alike: what `--code` sends unasked."""

import pytest

from pdj.code.folder import find_files
from pdj.code.ignore import parse_pattern
from pdj.errors import Problem
from tests.unit.pdj.test_folder_of_others import git, write

SECRETS = (
    ".netrc", "_netrc", "a/.git-credentials", ".pypirc", ".npmrc", ".aws/config", ".kube/config",
    ".docker/config.json", "tls.key", "TLS.KEY", "store.p12", "x.pfx", "x.jks", "id_rsa",
    "id_ed25519", "id_rsa_work", "id_rsa.bak", "key.pem~", ".env", "a/.env.local", ".envrc",
    "prod.env", ".ssh/config", ".gnupg/x", ".pgpass", "kubeconfig", "admin.kubeconfig",
    "credentials.json", ".cargo/credentials.toml", ".streamlit/secrets.toml", "passwords.txt",
    "service-account.json", "token", ".vault-token", ".htpasswd", ".config/gcloud/x", ".ＡＷＳ/x",
    "api_key.txt", "accessKeys.csv", "ssh_host_rsa_key", "secring.gpg", "netrc", ".yarnrc.yml",
    ".bash_history", ".config/containers/auth.json", ".config/pip/pip.conf", ".secrets/x",
    "terraform.tfstate", "terraform.tfstate.backup", "prod.tfvars", "key.pem.1", "hf_token.txt",
    "token.json", "stored_tokens", "rootkey.csv", "deploy_key", "service-account-prod.json",
    "x-firebase-adminsdk-1.json", ".modal.toml", "clearml.conf", ".credentials.json.swp",
    ".vault_pass.txt", ".smbcredentials", "credentials (1).json", "Copy of credentials.json",
    "id_rsa (copy)", "gcp-key.json", "sa-key.json", "ssh_key", "credentials (copy).json",
    "credentials copy.json", "id_rsa copy 2", "id_rsa (another copy)", "secrets - Copy.yaml",
    "credentials - Copy (2).json", "credentials - 副本.json", "credentials(副本).json",
    ".env 副本 2", "kaggle (1).json", "hf_token copy.txt",
)  # fmt: skip
ALIKE = (
    "id_card.py", "id_map.json", "id_rsa.pub", "id_rsa_loader.py", "keyboard.py", "key.py",
    "keys.csv", "tls.key.md", ".env.example", ".environment", "environment.yml", "kube/config",
    "docker/config.json", ".docker/Dockerfile", ".dockerignore", ".gitattributes", ".github/x.yml",
    "netrc.py", ".npmignore", "p12.py", "tokenizer.json", "tokens.txt", "special_tokens_map.json",
    "secrets.py", "credentials/a.py", "secret_garden.txt", "password_reset.py", "token/x.py",
    "keystore.py", "aws/config", "gym.env.py", "eos_token", "vocab/pad_token", "special_token.txt",
    "example.env", "token_ids.json", "added_tokens.json", "credentials_test.py", "monkey.key.md",
    "secret/x.py", "history", "netrc_test.py", "deploy_keys.py",
    "visa-keys.py", "visa_key.md", "keys (1).json", "auth_keys.py", "a secret garden.txt",
    "secret copycat.txt", "secrets (copy).py", "train - Copy.py",
)  # fmt: skip


def test_every_secrets_name_is_refused_where_git_lists_it(tmp_path):
    folder = write(tmp_path, "train.py", *SECRETS)
    git(folder, "init")
    with pytest.raises(Problem, match=f" and {len(SECRETS) - 5} more: may be a secret"):
        find_files(folder, print)
    includes = [parse_pattern(each, "include") for each in SECRETS]
    assert find_files(folder, print, includes) == sorted(["train.py", *SECRETS])


@pytest.mark.parametrize("name", SECRETS)
def test_a_secrets_name_is_refused_and_can_be_sent_on_purpose(name, tmp_path):
    folder = write(tmp_path, "train.py", name)
    with pytest.raises(Problem, match="never sent unasked") as refused:
        find_files(folder, print)
    assert "--include" in refused.value.for_shell
    assert "include=[" in refused.value.by_argument
    with pytest.raises(Problem, match="never sent unasked"):
        find_files(folder, print, [parse_pattern("*", "include")])
    assert find_files(folder, print, [parse_pattern(name, "include")]) == sorted(["train.py", name])


def test_names_that_only_look_alike_are_sent(tmp_path):
    assert find_files(write(tmp_path, *ALIKE), print) == sorted(ALIKE)
