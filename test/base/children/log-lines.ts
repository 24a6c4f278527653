// Logs far more than is kept of what cannot be written, and says on its error output that it came to the end.
import { createLog } from '../../../src/base/log.ts'

const log = createLog({ level: 'info', pretty: false, secrets: [] })
for (let n = 0; n < 2_000; n++) log.info({ filler: 'x'.repeat(1_000) }, 'a line')
console.error('wrote all')
