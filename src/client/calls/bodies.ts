import type { z } from 'zod'
import type { bindRequestCreateSchema } from '../schemas/binding.ts'
import type { checkpointSchema, quoteProductsSchema } from '../schemas/checkpoint.ts'
import type { submissionCreateSchema } from '../schemas/submission-create.ts'
import type { threadPostSchema } from '../schemas/thread.ts'

/**
 * Request bodies with the field names of the specification. If `producer_email` is missing, the client's value is sent.
 */
export type CreateBody = z.input<typeof submissionCreateSchema>
export type PostBody = z.input<typeof threadPostSchema>
/** `form_keys` selects the forms. Required forms are always included. */
export interface FormFillBody {
  readonly form_keys?: readonly string[]
  readonly producer_email?: string
}
export type CheckpointCommand = z.input<typeof checkpointSchema>
export type QuoteProductsBody = z.input<typeof quoteProductsSchema> & { readonly producer_email?: string }
export type BindRequestBody = z.input<typeof bindRequestCreateSchema>
