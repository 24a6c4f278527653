// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of the settings file are written like that.
import { expect, test } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
import { secretValues } from '../../src/config/secret-values.ts'
import { account, problemsOf, withFile } from './support.ts'

const env = { ...account, QUEUE_SECRET: 'a-secret-of-the-queue' }
const URL_OF = 'https://sqs.eu-central-1.amazonaws.com/123456789012/changes.fifo'
const fileOf = (queue: string, more = '') => withFile(`destinations: [{ name: bus, kind: queue, queue: { ${queue} }${more} }]`, env)
const problems = (queue: string, more = '') => problemsOf(fileOf(queue, more))

test('a queue needs its URL and its region; a key may be left to the chain of the SDK', () => {
  const [bus] = loadConfig(fileOf(`type: sqs, url: "${URL_OF}", region: eu-central-1`)).destinations
  const queue = { type: 'sqs', url: URL_OF, region: 'eu-central-1', accessKeyId: null, secretAccessKey: null }
  expect(bus).toMatchObject({ kind: 'queue', idempotent: true, concurrency: 1, queue })
})

test('its secret is masked', () => {
  const key = 'access_key_id: K, secret_access_key: "${QUEUE_SECRET}"'
  const config = loadConfig(fileOf(`type: sqs, url: "${URL_OF}", region: eu-central-1, ${key}`))
  expect(secretValues(config)).toContain('a-secret-of-the-queue')
  expect(JSON.stringify(config)).not.toContain('a-secret-of-the-queue')
})

const NO_SECRET = 'is missing; set it, or leave both halves of the key out'
const KEY = `type: sqs, url: "${URL_OF}", region: a, access_key_id: K`

test.each([
  ['type: rabbit', '', 'type in CONFIG_FILE must be of the type sqs'],
  [`type: sqs, url: "${URL_OF}"`, '', 'region in CONFIG_FILE is missing; set it'],
  [KEY, '', `secret_access_key in CONFIG_FILE ${NO_SECRET}`],
  [`${KEY}, secret_access_key: plain`, '', 'secret_access_key in CONFIG_FILE must be a reference'],
  [
    'type: sqs, url: "http://localhost:4566/1/q", region: a',
    '',
    'url in CONFIG_FILE must use https; http is only allowed with allow_private',
  ],
  [`type: sqs, url: "${URL_OF}", region: a`, ', allow_hosts: [x.test]', 'url in CONFIG_FILE has a host that allow_hosts does not list'],
])('%s%s is refused', (queue, more, problem) => {
  expect(problems(queue, more)).toEqual([expect.stringMatching(`^destinations\\[0\\]\\.queue\\.${problem}`)])
})
