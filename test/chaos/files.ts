import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Fault, startSftpServer } from '../emulators/sftp-server.ts'
import { readDrop, readRows } from '../push/file/support.ts'
import { mixed } from './faults.ts'
import { COMMON, type Target } from './target.ts'

const SFTP_FAULTS: Readonly<Record<string, Fault | null>> = { failure: 4, hang: 'hang', cut: 'cut', lose: 'lose', none: null }
const OWN = { ...COMMON, kind: 'file', gather: '50ms', max_rows: 40 } as const

/** Rows of the files that manifests list, in order of appearance. */
function takenFrom(folder: string): string[] {
  const listed = readDrop(folder).manifests.map((manifest) => ({
    ...manifest,
    at: statSync(join(folder, manifest.name), { bigint: true }),
  }))
  // Within one tick of the file system, the names give the order.
  const inOrder = listed.sort((a, b) => Number(a.at.ctimeNs - b.at.ctimeNs) || (a.name < b.name ? -1 : 1))
  return inOrder.flatMap(({ files }) => files.flatMap(({ name }) => readRows(join(folder, name)).map((row) => String(row['message_id']))))
}

/** A folder that is missing at first, like an unmounted share. */
export async function startFolder(): Promise<Target> {
  const above = mkdtempSync(join(tmpdir(), 'submission-mirror-chaos-'))
  const path = join(above, 'drop')
  let mounted = false
  const mount = () => {
    if (!mounted) mkdirSync(path)
    mounted = true
  }
  return {
    destination: { ...OWN, name: 'folder', target: { type: 'folder', path } },
    env: {},
    wants: () => true,
    taken: () => (mounted ? takenFrom(path) : []),
    once: false,
    withdraw: mount,
    left: () => 0,
    heal: () => undefined,
    close: async () => rmSync(above, { recursive: true, force: true }),
  }
}

export async function startSftp(seed: string): Promise<Target> {
  const root = mkdtempSync(join(tmpdir(), 'submission-mirror-chaos-'))
  const server = await startSftpServer({ root, username: 'mirror', password: 'the-password-of-sftp' })
  const faults = mixed(`${seed} sftp`, { failure: 5, hang: 1, cut: 4, lose: 4, none: 70 })
  server.fault = () => SFTP_FAULTS[faults.shift() ?? 'none'] ?? null
  const login = { host: '127.0.0.1', port: server.port, username: 'mirror', password: '${SFTP_PASSWORD}', host_key: server.hostKey }
  return {
    destination: { ...OWN, name: 'sftp', per: 'submission', target: { type: 'sftp', ...login, path: '/' } },
    env: { SFTP_PASSWORD: 'the-password-of-sftp' },
    wants: () => true,
    taken: () => takenFrom(root),
    once: false,
    left: () => faults.filter((fault) => fault !== 'none').length,
    heal: () => void faults.splice(0),
    async close() {
      await server.close()
      rmSync(root, { recursive: true, force: true })
    },
  }
}
