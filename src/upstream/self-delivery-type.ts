/** `type` of a delivery that `doctor` sends through the public URL: it is stored and settled like any other, and nothing is done over it. */
export const SELF_DELIVERY_TYPE = 'submission_mirror.self_delivery'
