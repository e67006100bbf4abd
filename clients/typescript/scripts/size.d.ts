export const bundles: { name: string; code: string; most: number }[];
export function measure(code: string): Promise<{ minified: number; gzipped: number }>;
