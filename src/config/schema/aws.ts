import { checkPair, secret, value } from './builders.ts'
import { anySecret, matching } from './values.ts'

export const region = matching(/^[a-z0-9-]{1,64}$/, 'must be a region such as eu-central-1')

/**
 * Id and secret of an AWS access key. Without them, the AWS SDK looks for credentials in the environment, in files, and
 * in the machine's role.
 */
export const key = {
  access_key_id: value(matching(/^[\x21-\x7e]{1,256}$/, 'must be the id of a key, without spaces')).optional(),
  secret_access_key: secret(anySecret, '').optional(),
}

export const checkKey = checkPair('access_key_id', 'secret_access_key', 'is missing; set it, or leave both halves of the key out')
