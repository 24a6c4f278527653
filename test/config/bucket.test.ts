// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of the settings file are written like that.
import { expect, test } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
import { secretValues } from '../../src/config/secret-values.ts'
import { account, problemsOf, withFile } from './support.ts'

const env = { ...account, S3_SECRET: 'a-secret-of-the-bucket' }
const bucketOf = (yaml: string) => loadConfig(withFile(`documents: { s3: { ${yaml} } }`, env)).documents.s3
const problems = (yaml: string) => problemsOf(withFile(`documents: { s3: { ${yaml} } }`, env))

test('a bucket needs only its name', () => {
  expect(bucketOf('bucket: acme')).toEqual({
    bucket: 'acme',
    region: 'us-east-1',
    endpoint: null,
    prefix: '',
    accessKeyId: null,
    secretAccessKey: null,
    forcePathStyle: false,
    allowHttp: false,
  })
})

test('a bucket with all that it may have', () => {
  const key = 'access_key_id: K, secret_access_key: "${S3_SECRET}"'
  const yaml = `bucket: acme, region: eu-central-1, endpoint: "https://s3.test", prefix: a/b, ${key}, force_path_style: true`
  const place = { region: 'eu-central-1', endpoint: 'https://s3.test/', prefix: 'a/b/' }
  expect(bucketOf(yaml)).toMatchObject({ ...place, accessKeyId: 'K', forcePathStyle: true })
  const config = loadConfig(withFile(`documents: { s3: { ${yaml} } }`, env))
  expect(secretValues(config)).toContain('a-secret-of-the-bucket')
  expect(JSON.stringify(config)).not.toContain('a-secret-of-the-bucket')
})

test.each([
  ['', /^documents\.s3\.bucket in CONFIG_FILE is missing; set it to the bucket/],
  ['bucket: acme, prefix: /a', /^documents\.s3\.prefix in CONFIG_FILE must be words/],
  ['bucket: acme, access_key_id: K', /^documents\.s3\.secret_access_key in CONFIG_FILE is missing/],
  ['bucket: acme, secret_access_key: "${S3_SECRET}"', /^documents\.s3\.access_key_id in CONFIG_FILE is missing/],
  ['bucket: acme, access_key_id: K, secret_access_key: plain', /^documents\.s3\.secret_access_key in CONFIG_FILE must be a reference/],
  ['bucket: acme, endpoint: "http://s3.test"', /^documents\.s3\.endpoint in CONFIG_FILE must use https/],
  ['bucket: acme, buckt: x', /^documents\.s3 in CONFIG_FILE has an unknown key, buckt/],
])('is refused with one problem: %s', (yaml, problem) => {
  expect(problems(yaml)).toEqual([expect.stringMatching(problem)])
})

test('plain http is for this machine, or allowed by name', () => {
  expect(bucketOf('bucket: acme, endpoint: "http://127.0.0.1:9000"')).toMatchObject({ endpoint: 'http://127.0.0.1:9000/' })
  expect(bucketOf('bucket: acme, endpoint: "http://minio:9000", allow_http: true')).toMatchObject({ endpoint: 'http://minio:9000/' })
})
