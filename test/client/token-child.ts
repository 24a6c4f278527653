// Renews a pair of tokens and is killed in `store`. Arguments: base URL, file of the pair.
import { readFileSync, writeFileSync } from 'node:fs'
import { createClient, tokens } from '../../src/client/exports.ts'

const [baseUrl = '', file = ''] = process.argv.slice(2)
writeFileSync(file, JSON.stringify({ accessToken: 'old', refreshToken: 'one', renewAtMs: 0 }))
const auth = tokens({
  load: async () => JSON.parse(readFileSync(file, 'utf8')),
  store: async () => {
    process.kill(process.pid, 'SIGKILL')
  },
  clientId: 'app',
})
await createClient({ baseUrl, auth }).forms()
