import { messageOf } from '../../base/errors.ts'
import { withoutQueryValues } from '../../base/secret.ts'
import type { BucketConfig } from '../../config/config.ts'
import { StorageUnavailable } from './errors.ts'

const RIGHTS = 'let its key get, put, delete and list objects there'

/** What the service answers when the settings or the rights are wrong, and what to do. */
const SENTENCES: Readonly<Record<string, string>> = {
  NoSuchBucket: 'does not exist: create it, or name another one in documents.s3.bucket',
  InvalidAccessKeyId: 'refuses the key: check documents.s3.access_key_id',
  SignatureDoesNotMatch: 'refuses the key: check documents.s3.secret_access_key',
  AccessDenied: `refuses the request (AccessDenied): ${RIGHTS}`,
  Forbidden: `refuses the request (403): ${RIGHTS}`,
  '403': `refuses the request (403): ${RIGHTS}`,
  PermanentRedirect: 'lies in another region: set documents.s3.region or documents.s3.endpoint',
  AuthorizationHeaderMalformed: 'lies in another region: set documents.s3.region',
  CredentialsProviderError: 'needs a key: set documents.s3.access_key_id and documents.s3.secret_access_key, or give this machine a role',
}

/** @returns an error whose sentence names the bucket and says what to do. */
export function bucketError({ bucket, endpoint, region }: BucketConfig, error: unknown): StorageUnavailable {
  const where = `the bucket ${bucket} (${endpoint === null ? region : withoutQueryValues(endpoint)})`
  const sentence = error instanceof Error ? SENTENCES[error.name] : undefined
  return new StorageUnavailable(
    sentence === undefined ? `${where} does not take or give documents: ${messageOf(error)}` : `${where} ${sentence}`,
    {
      cause: error,
    },
  )
}
