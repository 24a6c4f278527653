import { PermanentError, TransientError } from '../../base/errors.ts'

/** The bytes are not what was promised of the document. They are not kept; the message says why. */
export class RefusedDocument extends PermanentError {}

/** It is longer than is allowed. */
export class TooLongDocument extends RefusedDocument {}

/** Nothing is kept under that path. */
export class MissingDocument extends PermanentError {
  /** @param place where it was looked for. */
  constructor(path: string, place: string, options?: ErrorOptions) {
    super(`the document ${path} is missing in ${place}`, options)
  }
}

/** The folder or the bucket does not take or give documents now. One sentence says which, and what to do. */
export class StorageUnavailable extends TransientError {}
