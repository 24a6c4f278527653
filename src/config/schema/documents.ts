import { section, value } from './builders.ts'
import { matching } from './values.ts'

/** Where the bytes of documents are kept. */
export const documentsSchema = section({
  dir: value(matching(/^[^\0]{1,4096}$/, 'must be the path of a folder')).prefault('data/documents'),
})
