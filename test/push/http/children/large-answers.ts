import { readFileSync } from 'node:fs'
import { systemClock } from '../../../../src/base/clock.ts'
import { createLog } from '../../../../src/base/log.ts'
import { createHttp } from '../../../../src/push/kinds/http.ts'
import { destinationTo, itemOf } from '../support.ts'

/* Four destinations send 16 changes each concurrently to the server of the arguments, three times. Then the program prints its largest memory. */

const [, , url = ''] = process.argv
const log = createLog({ level: 'silent', pretty: false, secrets: [] })
const kinds = Array.from({ length: 4 }, (_, n) =>
  createHttp(
    destinationTo(url, {
      name: `ams-${n}`,
      concurrency: 16,
      allowPrivate: true,
      timeoutMs: 60_000,
      success: 'body.id = "x"',
      remoteId: 'body.id',
    }),
    { clock: systemClock, log, proxy: {} },
  ),
)
const { signal } = new AbortController()
for (let round = 0; round < 3; round += 1)
  await Promise.all(kinds.flatMap((kind) => Array.from({ length: 16 }, () => kind.send([itemOf()], signal))))
const [, kilobytes = ''] = /VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
process.stdout.write(`peak ${kilobytes}\n`)
process.exit()
