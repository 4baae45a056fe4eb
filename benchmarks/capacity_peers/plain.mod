/* P2 of paper 000 in GNU MathProg: glpsol -m plain.mod -d plain.dat */
set U;
param delta; param rho; param rbar;
param nm{U}; param mavg{U}; param mmax{U};
param s1avg{U}; param s1max{U}; param savg{U}; param smax{U};
param nr{U}; param ravg{U}; param rmax{U};
param cm{U}; param cr{U}; param low{U}; param high{U}; param deadline{U}; param penalty{U};
param a{i in U} := nm[i] * mavg[i] - mmax[i];
param b{i in U} := nr[i] * (savg[i] + ravg[i]) - smax[i] - rmax[i];
param c{i in U} := (s1avg[i] - savg[i] + s1max[i] + 2 * (smax[i] + mmax[i] + rmax[i])) / 2;
param gamma{i in U} := (a[i] / cm[i] + b[i] / cr[i] + 2 * sqrt(a[i] * b[i]) / sqrt(cm[i] * cr[i])) / (deadline[i] - c[i]);
var h{i in U}, integer, >= low[i], <= high[i];
var d, integer, >= 0;
var r, integer, >= 0, <= rbar;
minimize cost: delta * d + rho * r + sum{i in U} penalty[i] * (high[i] - h[i]);
subject to enough: sum{i in U} gamma[i] * h[i] <= r + d;
solve;
printf "cost %.10g\n", delta * d + rho * r + sum{i in U} penalty[i] * (high[i] - h[i]);
end;
