// Style sheets are modules without values.
declare module "*.css";
