"""The cluster's certificates."""

import ssl

from localcluster.client.pki import Authority


def test_a_client_that_keeps_to_the_letter_takes_them(tmp_path):
    """From Python 3.13 on, every client does."""
    authority = Authority()
    pair = authority.issue("server", ["localhost"], ["127.0.0.1"])
    (tmp_path / "pair").write_bytes(pair.certificate + pair.key)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(tmp_path / "pair")
    client = ssl.create_default_context(cadata=authority.certificate.decode())
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server, server_hostname="localhost"),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    while ends:
        ends = [each for each in ends if not shakes_hands(each)]


def shakes_hands(end: ssl.SSLObject) -> bool:
    """Whether this end is through with it; raises where it refuses the other's certificate."""
    try:
        end.do_handshake()
    except ssl.SSLWantReadError:
        return False
    return True
