"""What is not sent unasked: files with a name that secrets have, and URLs with a password."""

import re
import unicodedata
from itertools import pairwise

_ENTRY = r"""
    # keys, and stores of keys
    [^/]*\.(pem|key|p8|p12|pfx|pkcs8|pkcs12|jks|keystore|keytab|kdbx?|ppk|ovpn)
    | id_(rsa|dsa|ecdsa|ed25519)(_sk)?([-_][^/.]*)? | ssh_host_\w+_key | secring\.\w+
    # settings, but no examples of them
    | (?![^/]*\b(example|sample|template|dist|defaults?)(/|$))\.env(s|rc|file|\d+)?([^a-z/][^/]*)?
    # files and folders in which tools keep passwords
    | [._](netrc|pgpass|my\.cnf|mylogin\.cnf|pypirc|npmrc|yarnrc(\.yml)?|git-?(credentials|cookies)
        |docker(cfg|configjson)|htpasswd|s3cfg|boto|ossutilconfig|terraformrc|databrickscfg
        |modal\.toml|smbcredentials|passwd-s3fs|comet\.config|[a-z]+_history) | netrc
    | \.docker/config\.json | \.config/(gcloud|gh|rclone|containers|pip|pypoetry)
    | \.(git|ssh|gnupg|aws|azure|gcloud|oci|aliyun|kube|pip|secrets?|credentials?)
    | [^/]*\.(tfstate|tfvars)
"""
_COPIED = r"(\ ?\([\w\ ]+\)|\ (-\ )?(copy|副本)(\ \d+)?)"
"""What browsers and file managers add to the name of a copy."""
_FILE = rf"""
    # settings and lists whose name ends in a word for secrets
    ([^/]*[-_.\ ])?(credentials?|secrets?|passw(or)?ds?|kubeconfig|service[-_]?account|vault[-_]pass
        |(private|secret|access|api|root|deploy|ssh|gcp|sa|auth|service[-_]?account)[-_]?keys?)
       {_COPIED}*(\.(json|ya?ml|toml|ini|txt|cfg|conf|xml|properties|csv))?
    | \.?(?!(bos|eos|pad|unk|sep|cls|mask|next|special)_)([^/.]*[-_])?token{_COPIED}*(\.(txt|json))?
    | (?!(example|sample|template|dist|defaults?)\.)[^/]+\.env | stored_tokens
    | [^/]*(client_secret|service[-_]account|gha-creds|firebase-adminsdk)[^/]*\.json
    | (kaggle{_COPIED}*\.json|rclone\.conf|clearml\.conf)
"""
_COPY = rf"(~|\.(bak|backup|old|orig|save|swp|\d+)|{_COPIED})*"
_NAME = re.compile(rf"(^|/)(({_ENTRY}){_COPY}(/|$)|({_FILE}){_COPY}$)", re.VERBOSE)
_USER = re.compile(r"([^/?#]*|[^@]*)(?=@)")
"""What comes before the last @ of a host, or before the first of all."""
_HOST = re.compile(r"[^:]*[/?#]|\[|[^:]*:\d*/")
"""How what comes before an @ begins if it is no user: with a host, or with a host and a port."""
_VARIABLES = re.compile(r"(\$\{\w+\}|\$\(\w+\))+")
_QUERY = re.compile(
    r"[?&][\w.-]{0,99}(token|passw|pwd|secret|(?<![a-z])sig|api_?key)[\w.-]{0,99}=[^\s&$]", re.I
)


def is_secret(path: str) -> bool:
    """Whether the last name in a path, or that of a folder before, is one that secrets have. The
    path of a folder ends with a slash.
    """
    return bool(_NAME.search(unicodedata.normalize("NFKC", path).casefold()))


def has_password(text: str) -> bool:
    """Whether a URL in the text has a password or a token, and not a variable in its place."""
    urls = [each for word in text.split() for each in pairwise(word.split("://"))]
    return any(_is_open(*each) for each in urls) or bool(_QUERY.search(text))


def _is_open(scheme: str, rest: str) -> bool:
    before = _USER.match(rest)
    if not before or _HOST.match(before[0]):
        return False
    user, _, password = before[0].partition(":")
    is_name = scheme.lower().endswith("ssh") or user in ("", "git")
    secret = password.removeprefix("x-oauth-basic") or ("" if is_name else user)
    return bool(secret) and not _VARIABLES.fullmatch(secret)
