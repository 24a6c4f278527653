import { onTestFinished } from 'vitest'
import { type ManualClock, systemClock } from '../../../src/base/clock.ts'
import { Secret } from '../../../src/base/secret.ts'
import type { FileDestination } from '../../../src/config/config.ts'
import type { DeliveryKind } from '../../../src/push/contract/delivery.ts'
import { type SftpServer, type SftpServerOptions, startSftpServer } from '../../emulators/sftp-server.ts'
import { fileDestination, fileKind, newFolder } from './support.ts'

export const PASSWORD = 'a password'

/** A folder behind a server, and the kind that writes there. */
interface Place {
  readonly folder: string
  readonly server: SftpServer
  kind(changes?: Partial<FileDestination>, target?: Partial<SftpTarget>, clock?: ManualClock): DeliveryKind
}

type SftpTarget = Extract<FileDestination['target'], { type: 'sftp' }>

/** Starts a server over an empty folder; it ends with the test. */
export async function place(options: Partial<SftpServerOptions> = { password: PASSWORD }): Promise<Place> {
  const folder = newFolder()
  const server = await startSftpServer({ root: folder, username: 'mirror', ...options })
  onTestFinished(() => server.close())
  return {
    folder,
    server,
    kind(changes = {}, target = {}, clock) {
      const sftp: SftpTarget = {
        type: 'sftp',
        host: '127.0.0.1',
        port: server.port,
        username: 'mirror',
        password: new Secret(PASSWORD),
        privateKey: null,
        hostKey: server.hostKey,
        path: '/',
        ...target,
      }
      return fileKind(fileDestination(sftp, changes), clock ?? systemClock)
    },
  }
}
