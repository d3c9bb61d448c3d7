"""Spellings of forbidden places: what test_address_payloads throws at the fetcher."""

from __future__ import annotations

# every block, in dotted, short, decimal, octal, hexadecimal and mixed notation
IPV4_SPELLINGS = [
    "127.0.0.1", "127.0.0.1.", "127.0.0.2", "127.1.2.3", "127.255.255.254", "127.0.0.0", "127.1", "127.0.1",
    "127.65793", "2130706433", "2130706434", "2147483646", "0x7f000001", "0x7F000001", "0X7F000001", "017700000001",
    "0017700000001", "00000000017700000001", "0x7f.0.0.1", "0x7f.0x0.0x0.0x1", "0x7f.1", "0x7f.0.1", "0177.0.0.1",
    "0177.0.0.01", "0177.1", "0177.0x0.0.1", "0x7f.0.0.01", "0177.0.0x1", "0x000000007f000001", "127.0.0x0.1",
    "127.0x1", "127.01", "0x7f.0x1", "00177.0.0.1", "0x7f.00.00.01", "127.000000.0000.0001", "0", "0.0.0.0", "0x0",
    "00", "0.0", "0.0.0", "0.1.2.3", "0x00000000", "10.0.0.1", "10.255.255.255", "0xa000001", "012.0.0.1",
    "167772161", "10.1", "172.16.0.1", "172.31.255.254", "2886729729", "0xac100001", "192.168.0.1", "192.168.1.1",
    "3232235521", "0xc0a80001", "0300.0250.0.1", "192.168.257", "169.254.169.254", "2852039166", "0xa9fea9fe",
    "0251.0376.0251.0376", "169.254.43518", "0xa9.254.0251.254", "169.254.0.1", "100.64.0.1", "100.100.100.200",
    "100.127.255.255", "192.0.0.1", "192.0.0.192", "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.19.255.255",
    "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "4294967295",
    "0xffffffff", "037777777777", "168.63.129.16", "192.31.196.1", "192.52.193.1", "192.175.48.1",
]  # fmt: skip

# percent-encoding, full-width and circled digits, other dots, soft hyphens: all folded by IDNA
ODD_SPELLINGS = [
    "%31%32%37.0.0.1", "%31%32%37%2e%30%2e%30%2e%31", "127%2e0%2e0%2e1", "%30%78%37%66%30%30%30%30%30%31",
    "１２７.０.０.１", "①②⑦.⓪.⓪.①", "127。0。0。1", "127．0．0．1", "127｡0｡0｡1", "１２７。0．0｡1", "𝟏𝟐𝟕.𝟎.𝟎.𝟏",
    "１６９.254.169.254", "①⑥⑨.②⑤④.①⑥⑨.②⑤④", "0ⓧ7f.1", "127\xad.0.0.1", "127.0.0.1\u2060", "localhost", "LOCALHOST",
    "localhost.", "LoCaLhOsT", "ｌｏｃａｌｈｏｓｔ", "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ", "local\xadhost", "%6c%6f%63%61%6c%68%6f%73%74",
]  # fmt: skip

# long, short, mapped, translated, tunnelled and reserved forms
IPV6_SPELLINGS = [
    "[::1]", "[0:0:0:0:0:0:0:1]", "[0000:0000:0000:0000:0000:0000:0000:0001]", "[::0001]", "[0::1]", "[::]",
    "[0:0:0:0:0:0:0:0]", "[::0]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::FFFF:7F00:0001]",
    "[0:0:0:0:0:ffff:127.0.0.1]", "[0000::ffff:7f00:0001]", "[::ffff:10.0.0.1]", "[::ffff:169.254.169.254]",
    "[::ffff:a9fe:a9fe]", "[::ffff:0.0.0.0]", "[::ffff:8.8.8.8]", "[::127.0.0.1]", "[::7f00:1]", "[::10.0.0.1]",
    "[::ffff:0:127.0.0.1]", "[::ffff:0:7f00:1]", "[64:ff9b::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b::10.0.0.1]",
    "[64:ff9b::169.254.169.254]", "[64:ff9b:1::7f00:1]", "[64:ff9b:1::8.8.8.8]", "[2002:7f00:1::]",
    "[2002:7f00:0001::1]", "[2002:a00:1::]", "[2002:a9fe:a9fe::]", "[2002:808:808::]", "[2001:0:7f00:1::]",
    "[2001::1]", "[2001:0:4136:e378:8000:63bf:80ff:fffe]", "[2001:10::1]", "[2001:20::1]", "[2001:2::1]",
    "[2001:db8::1]", "[2001:4:112::1]", "[2620:4f:8000::1]", "[3fff::1]", "[3ffe::1]", "[5f00::1]", "[100::1]",
    "[100:0:0:1::1]", "[fc00::1]", "[fd00::1]", "[fd00:ec2::254]", "[fdff:ffff::1]", "[fe80::1]", "[febf::1]",
    "[fec0::1]", "[feff::1]", "[ff02::1]", "[ff0e::1]", "[4000::1]", "[8000::1]", "[e000::1]", "[1::1]",
    "[2606:4700::5efe:7f00:1]", "[2606:4700::200:5efe:a00:1]",
]  # fmt: skip

# users, backslashes, fragments and blanks that make the host look like another
TRICKS = [
    "http://example.com@{host}/", "http://example.com:80@{host}/", "http://user:pass@{host}/",
    "http://{host}@{host}/", "http://example.com%40{host}/", "http:\\\\{host}\\", "http:/{host}/", "http:{host}",
    "http:///{host}/", "http:////{host}/", "http://{host}\\@example.com/", "http://{host}#@example.com/",
    "http://{host}?@example.com/", "http://example.com\\@{host}/", " http://{host}/", "http://{host}/ ",
    "\thttp://{host}/", "ht\ntp://{host}/", "http://\t{host}/", "http:/\n/{host}/", "\x00http://{host}/",
    "HTTP://{host}/", "hTtP://{host}/", "http://{host}:@example.com/", "http://@{host}/", "http://:@{host}/",
    "//{host}/", "{host}", "http://[{host}]/", "http://{host}%00.example.com/", "http://{host}%0d%0aX:y/",
    "http://{host} .example.com/", "http://{host}%20/", "http://{host}/../../x", "http://{host}/%2e%2e/",
    "https://{host}/",
]  # fmt: skip

# anything but http and https
OTHER_SCHEMES = [
    "file:///etc/passwd", "file://127.0.0.1/etc/passwd", "FILE:///etc/passwd", "ftp://127.0.0.1/",
    "ftps://127.0.0.1/", "sftp://127.0.0.1/", "gopher://127.0.0.1:70/_GET", "dict://127.0.0.1:11211/stats",
    "ldap://127.0.0.1/", "ldaps://127.0.0.1/", "tftp://127.0.0.1/x", "telnet://127.0.0.1/", "imap://127.0.0.1/",
    "pop3://127.0.0.1/", "smtp://127.0.0.1/", "rtsp://127.0.0.1/", "mqtt://127.0.0.1/", "smb://127.0.0.1/x",
    "scp://127.0.0.1/x", "ws://127.0.0.1/", "wss://127.0.0.1/", "jar:http://127.0.0.1!/", "netdoc:///etc/passwd",
    "data:text/html,hello", "javascript:alert(1)", "about:blank", "blob:http://127.0.0.1/x",
    "view-source:http://127.0.0.1/", "http+unix://%2Fvar%2Frun%2Fdocker.sock/", "unix:///var/run/docker.sock",
    "mailto:a@127.0.0.1",
]  # fmt: skip

_TRICK_HOSTS = ("127.0.0.1", "0x7f.1", "2130706433", "[::1]", "localhost")
# PORT stands for the port of the canaries.
PAYLOADS = [
    *(f"http://{host}:PORT/" for host in (*IPV4_SPELLINGS, *ODD_SPELLINGS, *IPV6_SPELLINGS)),
    *(trick.replace("{host}", host + ":PORT") for trick in TRICKS for host in _TRICK_HOSTS),
    *OTHER_SCHEMES,
]
