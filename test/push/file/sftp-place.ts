import { type ManualClock, systemClock } from '../../../src/base/clock.ts'
import { Secret } from '../../../src/base/secret.ts'
import type { FileDestination } from '../../../src/config/config.ts'
import type { DeliveryKind } from '../../../src/push/contract/delivery.ts'
import { type SftpServer, type SftpServerOptions, startSftpServer } from '../../emulators/sftp-server.ts'
import { newFolder } from '../../tools/new-folder.ts'
import { closedAtEnd } from '../../tools/servers.ts'
import { fileDestination, fileKind } from './support.ts'

export const PASSWORD = 'a password'

interface Place {
  readonly folder: string
  readonly server: SftpServer
  kind(changes?: Partial<FileDestination>, target?: Partial<SftpTarget>, clock?: ManualClock): DeliveryKind
}

type SftpTarget = Extract<FileDestination['target'], { type: 'sftp' }>

/** Starts a server over an empty folder; it ends with the test. */
export async function place(options: Partial<SftpServerOptions> = { password: PASSWORD }): Promise<Place> {
  const folder = newFolder()
  const server = await closedAtEnd(startSftpServer({ root: folder, username: 'mirror', ...options }))
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
