import ssh2 from 'ssh2'

const { generateKeyPairSync, parseKey } = ssh2.utils

/**
 * A new ed25519 key pair in OpenSSH's own format. One of about 256 pairs of `ssh2` can't be read, because it drops leading zero bytes of
 * the key (mscdex/ssh2#1513); such a pair is replaced.
 */
export function sshKeys(): { private: string; public: string } {
  for (;;) {
    const keys = generateKeyPairSync('ed25519')
    if (!(parseKey(keys.private) instanceof Error) && !(parseKey(keys.public) instanceof Error)) return keys
  }
}
