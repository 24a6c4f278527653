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
  expect(bus).toMatchObject({
    kind: 'queue',
    idempotent: true,
    concurrency: 1,
    queue: { type: 'sqs', url: URL_OF, region: 'eu-central-1', accessKeyId: null, secretAccessKey: null },
  })
})

test('its secret is masked', () => {
  const config = loadConfig(
    fileOf(`type: sqs, url: "${URL_OF}", region: eu-central-1, access_key_id: K, secret_access_key: "\${QUEUE_SECRET}"`),
  )
  expect(secretValues(config)).toContain('a-secret-of-the-queue')
  expect(JSON.stringify(config)).not.toContain('a-secret-of-the-queue')
})

test.each([
  ['type: rabbit', '', 'destinations[0].queue.type in CONFIG_FILE must be of the type sqs'],
  [`type: sqs, url: "${URL_OF}"`, '', 'destinations[0].queue.region in CONFIG_FILE is missing; set it'],
  [
    `type: sqs, url: "${URL_OF}", region: a, access_key_id: K`,
    '',
    'destinations[0].queue.secret_access_key in CONFIG_FILE is missing; set it, or leave both halves of the key out',
  ],
  [
    `type: sqs, url: "${URL_OF}", region: a, access_key_id: K, secret_access_key: plain`,
    '',
    expect.stringMatching(/^destinations\[0\]\.queue\.secret_access_key in CONFIG_FILE must be a reference/),
  ],
  [
    'type: sqs, url: "http://localhost:4566/1/q", region: a',
    '',
    'destinations[0].queue.url in CONFIG_FILE must use https; http is only allowed with allow_private: true',
  ],
  [
    `type: sqs, url: "${URL_OF}", region: a`,
    ', allow_hosts: [sqs.test]',
    'destinations[0].queue.url in CONFIG_FILE is at a host that allow_hosts does not name; add it there',
  ],
])('%s%s is refused', (queue, more, problem) => {
  expect(problems(queue, more)).toEqual([problem])
})
